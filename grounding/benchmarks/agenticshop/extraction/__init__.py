"""From a kept page to what it says of its product: by rules, or by a chat model that reads text and pictures."""
