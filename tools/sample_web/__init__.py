"""Generator of the bundled sample: small web sites, driven for real and photographed."""
