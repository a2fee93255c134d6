import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Contestant } from './contestant.ts'
import { connectResp } from './resp.ts'

/** Name of the sorted set of all keys, because Redis does not order keys. */
const KEYS = '\0keys'

/**
 * Starts Redis on a free local port with an append-only file. `everysec` survives a process crash, `always` survives a
 * power failure. A write is a transaction of two commands, for the value and the set of keys. Prefixes are looked up in
 * the set.
 */
export async function openRedis(
  program: string,
  folder: string,
  sync: 'everysec' | 'always',
): Promise<Contestant> {
  const port = await findPort()
  const options = {
    port,
    bind: '127.0.0.1',
    dir: folder,
    save: '',
    appendonly: 'yes',
    appendfsync: sync,
  }
  const words = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
  const child = spawn(program, words, { stdio: 'ignore' })
  const closed = once(child, 'close')
  const { call, close } = await connectResp(port)
  return {
    write(key, value) {
      void call('MULTI')
      void call('SET', key, value)
      void call('ZADD', KEYS, '0', key)
      return call('EXEC')
    },
    read: (key) => call('GET', key) as Promise<string>,
    async readPrefix(prefix) {
      const keys = await call('ZRANGE', KEYS, `[${prefix}`, `(${prefix}\uffff`, 'BYLEX')
      return (await call('MGET', ...(keys as string[]))) as string[]
    },
    async close() {
      close()
      child.kill()
      await closed
    },
  }
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { readonly port: number }
  server.close()
  await once(server, 'close')
  return port
}
