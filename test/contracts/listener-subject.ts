import type { CreateListener } from '../../core/listener/listener.ts'

export interface ListenerSubject {
  readonly create: CreateListener
  readonly name: 'uws' | 'node'
  /** Whether the cases run over HTTP/2. Cases about HTTP/1.1 itself are skipped over HTTP/2. */
  readonly http2?: boolean
}
