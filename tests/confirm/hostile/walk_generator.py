# From a generator to the frames above.
def one():
    yield generator.gi_frame.f_back


generator = one()
frame = next(generator)
open("CANARY/written" + str(frame.f_globals), "w")
