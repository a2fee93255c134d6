import { testListenerBodies } from './listener-bodies.ts'
import { testListenerConnections } from './listener-connections.ts'
import { testListenerProbes } from './listener-probes.ts'
import { testListenerReplies } from './listener-replies.ts'
import { testListenerRequests } from './listener-requests.ts'
import type { ListenerSubject } from './listener-subject.ts'
import { testListenerTls } from './listener-tls.ts'

/** Contract of listeners, for any HTTP parser. */
export function testListener(subject: ListenerSubject): void {
  testListenerRequests(subject)
  testListenerReplies(subject)
  testListenerBodies(subject)
  testListenerConnections(subject)
  // The node listener offers HTTP/2 in the cases of HTTP/1.1 over TLS; and probes are bytes of HTTP/1.1.
  if (subject.http2 === true) return
  testListenerTls(subject)

  testListenerProbes(subject)
}
