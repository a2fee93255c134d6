import { createHash, timingSafeEqual } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { definePlugin, GatewayError, HeaderList, type PluginDefinition, Type } from 'mx-gateway'

/** A client that may come in. */
interface Client {
  readonly name: string
  /** SHA-256 of its key. */
  readonly digest: Buffer
}

/** How often, at most, the file is looked at. */
const CHECK_MS = 1000
const LINE = /^([\w.-]+)[ \t]+([0-9a-f]{64})$/i

/**
 * Lets in requests that carry a known key, and tells the backend whose it was.
 *
 * The file holds a client's name and the SHA-256 of its key per line, so that whoever reads it has no key:
 * `echo "shop $(printf %s "$KEY" | sha256sum | cut -d' ' -f1)" >> keys.txt`. Keys must be random and long.
 * An edit counts within a second; a file that does not parse is refused and the keys before it stay.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'api-key',
  description: 'Asks for an API key.',
  options: Type.Object({
    file: Type.String({
      description: 'Lines of a name and the SHA-256 of a key in hexadecimal; # begins a comment.',
    }),
    header: Type.String({ default: 'X-Api-Key', description: 'Header that carries the key.' }),
    clientHeader: Type.String({
      default: 'X-Api-Client',
      description: 'Header that tells the backend the name.',
    }),
  }),
  create(options, { configDir = '.', log, nowMs }) {
    const file = resolve(configDir, options.file)
    const header = options.header.toLowerCase()
    const clientHeader = options.clientHeader.toLowerCase()
    // Malformed header names fail here, when the plugin is built, and not at the first request.
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
        log.info({ file, clients: clients.length }, 'API keys read again')
      } catch (error) {
        log.error({ file, err: error }, 'API keys not read; those read before stay')
      }
    }
    const denied = new GatewayError(
      'api-key',
      401,
      `a known key is needed in the header ${options.header}`,
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
        // The backend learns the name and never the key; a name that the client sent is replaced.
        x.headers.delete(header)
        x.headers.set(clientHeader, client.name)
      },
    }
  },
})

export default plugin

/** Looks at every client, whichever it is: the time taken tells nothing. */
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
      // The line itself may hold a key that someone forgot to hash: it is not repeated here.
      if (match === null)
        throw new Error(`${file}:${index + 1}: must be a name and a SHA-256 in hexadecimal`)
      return [{ name: match[1]!, digest: Buffer.from(match[2]!, 'hex') }]
    })
}

/** Changes whenever the file does, also when an editor or a mount replaces it. */
function readVersion(file: string): string {
  const { ino, mtimeMs, size } = statSync(file)
  return `${ino} ${mtimeMs} ${size}`
}
