"""The interface of encodings and what carries it out, in the order in which it is read.

1. `value`: frozen dataclasses whose fields are checked; `arrays`: arrays as users give them; `structure`: masks.
2. `geometry`: the sequences that an encoding sees, and where queries stand among keys.
3. `base`: `PositionalEncoding`, the hooks of an encoding; `method`: its rows in the catalogue.
4. `parameters`, `slots`: several encodings that act in order, their parameters and their layers.
5. `parsing`: slots as strings.
6. `arguments`, `attention`, `layer_inputs`: attention with a slot, and what a layer gives to it.
"""
