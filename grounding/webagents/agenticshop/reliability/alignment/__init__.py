"""Does a checklist prefer the product that its user rated higher? (The paper's section 4.1.1 and table 2.)"""
