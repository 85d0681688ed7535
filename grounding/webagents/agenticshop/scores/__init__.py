"""From stored curations, extractions and judgements to figures; pure, and no model is asked."""
