import { readdirSync } from 'node:fs'

/** Values of Linux, on every processor there is a µWebSockets for. */
const SOL_SOCKET = 1
const SO_ACCEPTCONN = 30
const SO_ATTACH_REUSEPORT_CBPF = 51
const BPF_RETURN_CONSTANT = 0x06
/** The place of the port in `struct sockaddr_in` and `sockaddr_in6`, in network order. */
const PORT_OFFSET = 2
const ADDRESS_MAX_BYTES = 128

/** What every socket that shares the port gets again, each its share: no socket has this index. */
export const EVERY_SOCKET = 0xffff_ffff

interface Libc {
  readonly getsockopt: (
    fd: number,
    level: number,
    name: number,
    value: Buffer,
    bytes: number[],
  ) => number
  readonly getsockname: (fd: number, address: Buffer, bytes: number[]) => number
  /** Attaches a classic BPF program that returns a constant. */
  readonly attach: (fd: number, index: number) => number
}

/**
 * Has new connections to a port accepted by one of the processes that listen on it (SO_REUSEPORT), from now on: the
 * others may accept what still waits for them, then close without a loss. Linux drops what waits for a socket that is
 * closed, and would have gone on giving it connections until then (socket(7), SO_ATTACH_REUSEPORT_CBPF).
 *
 * @param index of the socket, in the order in which they began to listen; where one closes, the last takes its index. One there
 *   is not, such as {@link EVERY_SOCKET}, means all of them, by the hash of the connection.
 * @throws {Error} with one line when it cannot be done here.
 */
export async function steerConnections(port: number, index: number): Promise<void> {
  if (process.platform !== 'linux') throw new Error(`there is no steering on ${process.platform}`)
  const libc = await loadLibc()
  const fd = listFiles().find((file) => isListening(libc, file, port))
  if (fd === undefined) throw new Error(`this process does not listen on port ${port}`)
  if (libc.attach(fd, index) !== 0)
    throw new Error(`the system refuses to steer connections to port ${port}`)
}

/** The C library, by a library that costs a process 2 MB: loaded by those only who take a port over. */
async function loadLibc(): Promise<Libc> {
  const koffi = await import('koffi').catch((cause: unknown) => {
    throw new Error('the library koffi cannot be loaded', { cause })
  })
  const { default: ffi } = koffi
  const lib = ffi.load(null)
  const filter = ffi.struct({ code: 'uint16', jt: 'uint8', jf: 'uint8', k: 'uint32' })
  const program = ffi.struct({ length: 'uint16', filter: ffi.pointer(filter) })
  const setsockopt = lib.func('setsockopt', 'int', [
    'int',
    'int',
    'int',
    ffi.pointer(program),
    'uint32',
  ])
  const bytes = ffi.sizeof(program)
  return {
    getsockopt: lib.func('int getsockopt(int, int, int, _Out_ void *, _Inout_ uint32 *)'),
    getsockname: lib.func('int getsockname(int, _Out_ void *, _Inout_ uint32 *)'),
    attach(fd, index) {
      const code = [{ code: BPF_RETURN_CONSTANT, jt: 0, jf: 0, k: index }]
      const value = { length: code.length, filter: code }
      return setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, value, bytes) as number
    },
  }
}

function listFiles(): number[] {
  return readdirSync('/proc/self/fd').map(Number)
}

function isListening({ getsockopt, getsockname }: Libc, fd: number, port: number): boolean {
  const flag = Buffer.alloc(4)
  if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, flag, [flag.length]) !== 0) return false
  if (flag.readInt32LE() !== 1) return false
  const address = Buffer.alloc(ADDRESS_MAX_BYTES)
  return (
    getsockname(fd, address, [address.length]) === 0 && address.readUInt16BE(PORT_OFFSET) === port
  )
}
