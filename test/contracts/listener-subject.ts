import type { CreateListener } from '../../core/listener/listener.ts'

export interface ListenerSubject {
  readonly create: CreateListener
  readonly name: 'uws' | 'node'
  /** Whether HTTP/2 carries all that the cases send. Those about HTTP/1.1 itself are skipped then. */
  readonly http2?: boolean
}
