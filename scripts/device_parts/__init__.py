"""The parts of scripts/on_device: what an accelerator is asked when there is one, each with a miniature for a CPU.

`part.Part` is what they have in common, `order.PARTS` is all of them, `serving` measures one in a process of its own,
`record` keeps what it gives, `page` makes tables of that.
"""
