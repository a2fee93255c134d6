import { readdirSync } from 'node:fs'

/** Linux values, valid on all architectures supported by µWebSockets. */
const SOL_SOCKET = 1
const SO_ACCEPTCONN = 30
const SO_ATTACH_REUSEPORT_CBPF = 51
const BPF_RETURN_CONSTANT = 0x06
/** Offset of the port in `struct sockaddr_in` and `sockaddr_in6`, in network byte order. */
const PORT_OFFSET = 2
const ADDRESS_MAX_BYTES = 128

/** Restores the distribution across all sockets, since no socket has this index. */
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
 * Steers new connections on a port to one of the processes listening on it (SO_REUSEPORT). The other processes can then
 * accept their pending connections and close without losing any: Linux drops the pending connections of a closed
 * socket, and would otherwise assign it new ones until then (socket(7), SO_ATTACH_REUSEPORT_CBPF).
 *
 * @param index of the socket, in the order in which they started listening. When a socket closes, the last one takes
 *   its index. An unused index such as {@link EVERY_SOCKET} selects all sockets by connection hash.
 * @throws {Error} with a one-line message if steering is not possible.
 */
export async function steerConnections(port: number, index: number): Promise<void> {
  if (process.platform !== 'linux')
    throw new Error(`connection steering is not supported on ${process.platform}`)
  const libc = await loadLibc()
  const fd = listFiles().find((file) => isListening(libc, file, port))
  if (fd === undefined) throw new Error(`this process does not listen on port ${port}`)
  if (libc.attach(fd, index) !== 0)
    throw new Error(`the system rejected connection steering on port ${port}`)
}

/** Loads the C library through koffi, which costs 2 MB, so only processes that take over a port load it. */
async function loadLibc(): Promise<Libc> {
  const koffi = await import('koffi').catch((cause: unknown) => {
    throw new Error('cannot load the library koffi', { cause })
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
