import type { CreateListener } from '../../core/listener/listener.ts'
import { testListenerBodies } from './listener-bodies.ts'
import { testListenerConnections } from './listener-connections.ts'
import { testListenerProbes } from './listener-probes.ts'
import { testListenerReplies } from './listener-replies.ts'
import { testListenerRequests } from './listener-requests.ts'
import { testListenerTls } from './listener-tls.ts'

export interface ListenerSubject {
  readonly create: CreateListener
  readonly name: 'uws' | 'node'
}

/** What every listener does, whatever parses HTTP below it. */
export function testListener(subject: ListenerSubject): void {
  testListenerRequests(subject)
  testListenerReplies(subject)
  testListenerBodies(subject)
  testListenerConnections(subject)
  testListenerTls(subject)

  testListenerProbes(subject)
}
