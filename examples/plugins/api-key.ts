import { createHash, timingSafeEqual } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { definePlugin, GatewayError, HeaderList, type PluginDefinition, Type } from 'mx-gateway'

/** A client that is allowed access. */
interface Client {
  readonly name: string
  /** SHA-256 digest of the key. */
  readonly digest: Buffer
}

/** Minimum interval between checks of the file. */
const CHECK_MS = 1000
const LINE = /^([\w.-]+)[ \t]+([0-9a-f]{64})$/i

/**
 * Authenticates requests by API key and passes the client's name to the backend.
 *
 * Each line of the file contains the name of a client and the SHA-256 of its key, so that the file contains no keys:
 * `echo "shop $(printf %s "$KEY" sha256sum cut -d' ' -f1)" >> keys.txt`. Keys must be random and long. Changes apply
 * within a second. An invalid file is rejected, and the previous keys stay valid.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'api-key',
  description: 'Requires an API key.',
  options: Type.Object({
    file: Type.String({
      description:
        'File with a name and the SHA-256 of a key in hexadecimal per line; # starts a comment.',
    }),
    header: Type.String({ default: 'X-Api-Key', description: 'Header that carries the key.' }),
    clientHeader: Type.String({
      default: 'X-Api-Client',
      description: 'Header for the name of the client, sent to the backend.',
    }),
  }),
  create(options, { configDir = '.', log, nowMs }) {
    const file = resolve(configDir, options.file)
    const header = options.header.toLowerCase()
    const clientHeader = options.clientHeader.toLowerCase()
    // Validates the header names at startup rather than at the first request.
    new HeaderList([header, '', clientHeader, ''])
    let clients = readClients(file)
    let version = readVersion(file)
    let checkedMs = nowMs()

    const refresh = () => {
      checkedMs = nowMs()
      try {
        const now = readVersion(file)
        if (now === version) return
        version = now
        clients = readClients(file)
        log.info({ file, clients: clients.length }, 'API keys reloaded')
      } catch (error) {
        log.error({ file, err: error }, 'API keys not reloaded, the previous keys stay valid')
      }
    }
    const denied = new GatewayError(
      'api-key',
      401,
      `a valid key is required in the header ${options.header}`,
      {
        headers: ['www-authenticate', 'ApiKey'],
      },
    )
    return {
      onRequest(x) {
        if (nowMs() - checkedMs >= CHECK_MS) refresh()
        const key = x.headers.get(header)
        const client = key === undefined ? undefined : findClient(clients, key)
        if (client === undefined) throw denied
        // The key is not forwarded. The name overwrites any value sent by the client.
        x.headers.delete(header)
        x.headers.set(clientHeader, client.name)
      },
    }
  },
})

export default plugin

/** Compares the key with the keys of all clients, so that the duration reveals nothing about them. */
function findClient(clients: readonly Client[], key: string): Client | undefined {
  const digest = createHash('sha256').update(key, 'latin1').digest()
  let found: Client | undefined
  for (const client of clients) if (timingSafeEqual(client.digest, digest)) found = client
  return found
}

function readClients(file: string): readonly Client[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .flatMap((line, index) => {
      if (line === '') return []
      const match = LINE.exec(line)
      // The line is not quoted, because it may contain a key that was not hashed.
      if (match === null)
        throw new Error(`${file}:${index + 1}: must be a name and a SHA-256 in hexadecimal`)
      return [{ name: match[1]!, digest: Buffer.from(match[2]!, 'hex') }]
    })
}

/** Version of the file. It also changes when an editor or a mount replaces the file. */
function readVersion(file: string): string {
  const { ino, mtimeMs, size } = statSync(file)
  return `${ino} ${mtimeMs} ${size}`
}
