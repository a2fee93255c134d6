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
  // TLS with HTTP/2 is tested with the HTTP/1.1 cases of the node listener, and probes are HTTP/1.1 only.
  if (subject.http2 === true) return
  testListenerTls(subject)

  testListenerProbes(subject)
}
