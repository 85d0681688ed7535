"""From the words of a checklist's item to a typed rule, or to the reason why no rule decides it."""
