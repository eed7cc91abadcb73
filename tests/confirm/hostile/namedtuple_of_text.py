import collections

class Text(str):
    def isidentifier(self):
        return True

collections.namedtuple("T", [Text("a=open('CANARY/written', 'w')")])
