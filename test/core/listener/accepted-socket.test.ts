import t from 'tap'
import { AcceptedSocket } from '../../../core/listener/accepted-socket.ts'

const MIB = 1024 * 1024

/** A WebSocket whose library reads on whatever it is told. */
class Unstoppable extends AcceptedSocket {
  readonly bufferedBytes = 0

  constructor(ends: string[]) {
    const receiver = {
      onMessage: () => {},
      onDrain: () => {},
      onClose: (code: number, reason: string) => ends.push(`${code} ${reason}`),
    }
    super({ bytesIn: 0, bytesOut: 0 }, receiver, MIB, () => {})
  }

  read(data: Uint8Array): void {
    this.receive(data, true)
  }

  protected transmit(): boolean {
    return true
  }

  protected cork(): void {}
  protected transmitClose(): void {}
  protected cut(): void {}
  protected pauseRead(): void {}
  protected resumeRead(): void {}
}

for (const [what, size] of [
  ['long', MIB],
  ['empty', 0],
] as const) {
  t.test(`a client that gets in ${what} messages while it is held back is ended with 1013`, (t) => {
    const ends: string[] = []
    const socket = new Unstoppable(ends)
    const message = new Uint8Array(size)
    for (let i = 0; i < 1_000_000; i++) socket.read(message)
    t.strictSame(ends, [], 'not while it is read')
    socket.pause()
    let count = 0
    while (ends.length === 0) {
      socket.read(message)
      count++
    }
    t.strictSame(ends, ['1013 sends more than is read'])
    t.ok(count > 100, `${count} were kept`)
    t.ok(count * size <= 128 * MIB, 'in bounded memory')
    t.end()
  })
}
