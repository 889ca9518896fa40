"""Whatever an author of workflows was promised, sentence by sentence, at the cheapest level that is real."""
