"""What one paper alone needs, under that paper's name: its fusion, its segmenter, its prompts' order.

A reader of the default path meets none of it: the graphs put these parts in where a preset names a paper.
"""
