import type { HttpResponse } from './uws-types.d.ts'
import type { SocketData } from './websocket.ts'

/**
 * Reads on. The library remembers what sockets did (reading, writing) in two places, one for those with bytes that wait and
 * one for the others. Pausing a socket puts there what it did, if it was not paused; resuming one has it do what lies there,
 * whosever that was. So its own is put there first.
 */
export function readOn(res: HttpResponse): void {
  res.pause()
  res.resume()
}

/** Pauses WebSockets with the methods of the response they were made of. */
export function switchBy({ pause, resume }: HttpResponse): NonNullable<SocketData['toSwitch']> {
  return (client) => ({
    pause: () => pause.call(client),
    // As `readOn`.
    resume: () => {
      pause.call(client)
      resume.call(client)
    },
  })
}
