"""How far judges agree with people, and checklists with what users liked."""
