"""What a kube-apiserver does with CEL, on `hanse.kube.cel`: rules of CRDs and expressions of admission policies."""
