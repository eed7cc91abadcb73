# From an error to the frames above.
try:
    1 / 0
except ZeroDivisionError as error:
    frame = error.__traceback__.tb_frame
while frame:
    print(frame.f_locals)
    if "tell" in frame.f_locals:
        frame.f_locals["tell"](None)
    frame = frame.f_back
open("CANARY/written", "w")
