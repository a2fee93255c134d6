/** Completes the error of a service without nodes. */
export const NEEDS_NODES = 'needs a list of nodes such as [127.0.0.1:9001, 127.0.0.1:9002]'
