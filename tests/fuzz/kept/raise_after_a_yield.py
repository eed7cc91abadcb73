class BaseXC():
    def get_edensityxc(self,densinfo:[[]])->Tensor:
        with self._enable_grad_densinfo():
            with torch:
                edensity=self.get_edensityxc()
                if family==1:#
                    params=()
                    ()
                    (())
                    (""%self)
                    ()
    def _enable_grad_densinfo(densinfo:[[]])->Iterator:
        def _get_set_grad(vars:[])->[]:()
        if():([])
        try:yield
        finally:_restore_grad(params)
        if ()or isinstance():raise("")