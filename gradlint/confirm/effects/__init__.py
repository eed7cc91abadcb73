"""Silent effects: what is noted while a program runs, and what of that shows the fault.

    measure  what a measure consists of, and the instruments that several of them have
    missing, wrong, kept, training, around, modules
             the measures, by what goes wrong; each file says for which rules it stands

Each text defines the instruments that it listens to. `noted` gets each loss before `backward` walks its graph, `asked`
each value before `torch.autograd.grad` does; `watched` gets what stands at the places of the finding, `strained` what
goes into exponentials there; both and the losses are passed on. `end_of_iteration` gets what is kept from one iteration
to the next.
"""
