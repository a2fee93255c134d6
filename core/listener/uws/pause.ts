import type { HttpResponse } from './uws-types.d.ts'
import type { SocketData } from './websocket.ts'

/**
 * Resumes reading. The library stores the state of sockets (reading, writing) in two global variables, one for sockets
 * with pending bytes and one for all other sockets. Pausing stores the state of a socket that is not paused. Resuming
 * restores the stored state, even the state of another socket. Therefore the state of this socket is stored first.
 */
export function resumeReading(res: HttpResponse): void {
  res.pause()
  res.resume()
}

/** Pauses WebSockets with the methods of their response. */
export function switchBy({ pause, resume }: HttpResponse): NonNullable<SocketData['toSwitch']> {
  return (client) => ({
    pause: () => pause.call(client),
    // See `resumeReading`.
    resume: () => {
      pause.call(client)
      resume.call(client)
    },
  })
}
