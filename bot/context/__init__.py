"""What an agent sees: thread snapshot, window, pins, sanitiser, blocks, exec inputs, prompt, manifest."""
