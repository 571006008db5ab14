package v1alpha1

// FleetAnnotation on a LoadLine sets the name of the fleet of its students and
// their teacher. By default it is derived from the namespace and the model's
// application; it is for applications that several namespaces share.
const FleetAnnotation = "loadline.dev/fleet"

// AgentLabel on a LoadLine names the agent that manages it: a "loadline run" with
// the same --agent. Other processes ignore it.
const AgentLabel = "loadline.dev/agent"
