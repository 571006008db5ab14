package v1alpha1

// FleetAnnotation on a LoadLine names the fleet in which its students meet their
// teacher. Without it the namespace and the model's application do; it is for
// applications that several namespaces share.
const FleetAnnotation = "loadline.dev/fleet"

// AgentLabel on a LoadLine names the agent that looks after it: a "loadline run"
// with the same --agent. Others leave it alone.
const AgentLabel = "loadline.dev/agent"
