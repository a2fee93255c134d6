import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import * as http from 'node:http'
import * as https from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { spawnTied } from '../../../test/fixtures/spawn-tied.ts'

export interface ConsulAgentOptions {
  /** Path of the `consul` program. */
  readonly program: string
  /** Enable ACLs with default deny; {@link ConsulAgent.token} has all permissions. @default false */
  readonly acl?: boolean
  /** Serve HTTPS instead of HTTP, with this certificate. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined
  /** Maximum number of connections per client address. @default Consul's default, 200 */
  readonly maxConnections?: number
  readonly wrap?: (command: readonly string[]) => readonly string[]
}

/** A Consul agent as a separate process that forms a single-server cluster. */
export interface ConsulAgent {
  readonly host: '127.0.0.1'
  readonly port: number
  /** Management token; undefined without ACLs. */
  readonly token: string | undefined
  /**
   * Calls the HTTP API and returns the parsed response.
   *
   * @throws {Error} with the response body if the status is not 2xx.
   */
  readonly call: (method: string, path: string, body?: unknown) => Promise<unknown>
  /** Kills the process with SIGKILL, retaining its data. */
  readonly kill: () => Promise<void>
  /** Suspends the process with SIGSTOP. It stops responding, but its connections stay open. */
  readonly freeze: () => void
  readonly resume: () => void
  /** Restarts the agent on the same ports. Resolves when it has a leader. */
  readonly start: (options?: { readonly empty?: boolean }) => Promise<void>
  /** Stops the agent and removes its data. */
  readonly stop: () => Promise<void>
}

const TOKEN = '5d7a1c8e-0000-4000-8000-6b3f1f0a9c11'
const START_MS = 30_000

/** Maximum number of attempts with different ports, because another program may bind one before Consul does. */
const MAX_TRIES = 5

/** Starts an agent with its data in a temporary folder, for benchmarks and tests. */
export async function startConsulAgent(options: ConsulAgentOptions): Promise<ConsulAgent> {
  for (let tries = 1; ; tries++) {
    try {
      return await startOnFreePorts(options)
    } catch (error) {
      if (tries === MAX_TRIES || !String(error).includes('address already in use')) throw error
    }
  }
}

async function startOnFreePorts({
  program,
  acl = false,
  certificate,
  maxConnections,
  wrap = (command) => command,
}: ConsulAgentOptions): Promise<ConsulAgent> {
  const folder = mkdtempSync(join(tmpdir(), 'mx-consul-'))
  const data = join(folder, 'data')
  const [port, server, serfLan, serfWan] = await findPorts()
  const tls = certificate === undefined ? {} : writeCertificate(folder, certificate)
  const configFile = join(folder, 'agent.json')
  writeFileSync(
    configFile,
    JSON.stringify({
      server: true,
      bootstrap: true,
      node_name: 'test',
      data_dir: data,
      bind_addr: '127.0.0.1',
      client_addr: '127.0.0.1',
      disable_update_check: true,
      leave_on_terminate: false,
      log_level: 'WARN',
      ports: {
        http: certificate === undefined ? port : -1,
        https: certificate === undefined ? -1 : port,
        dns: -1,
        grpc: -1,
        server,
        serf_lan: serfLan,
        serf_wan: serfWan,
      },
      performance: { raft_multiplier: 1 },
      ...(maxConnections !== undefined && {
        limits: { http_max_conns_per_client: maxConnections },
      }),
      ...tls,
      ...(acl && {
        acl: { enabled: true, default_policy: 'deny', tokens: { master: TOKEN, agent: TOKEN } },
      }),
    }),
  )
  let child: ChildProcess | undefined

  async function kill(): Promise<void> {
    const killed = child
    child = undefined
    if (killed === undefined || killed.exitCode !== null) return
    const ended = once(killed, 'exit')
    killed.kill('SIGKILL')
    await ended
  }

  function call(method: string, path: string, body?: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const request = (certificate === undefined ? http : https).request(
        {
          host: '127.0.0.1',
          port,
          method,
          path: `/v1${path}`,
          ca: certificate?.cert,
          headers: acl ? { 'x-consul-token': TOKEN } : {},
        },
        async (response) => {
          let text = ''
          for await (const chunk of response.setEncoding('utf8')) text += chunk
          if (response.statusCode !== 200)
            return reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`))
          const isJson = response.headers['content-type']?.includes('json') === true
          resolve(isJson ? JSON.parse(text) : text)
        },
      )
      request.on('error', reject)
      request.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }

  async function start({ empty = false }: { readonly empty?: boolean } = {}): Promise<void> {
    await kill()
    if (empty) rmSync(data, { recursive: true, force: true })
    const command = wrap([program, 'agent', '-config-file', configFile])
    const { child: started, log } = spawnTied(command, 'stdout')
    child = started
    const endMs = performance.now() + START_MS
    for (;;) {
      if (started.exitCode !== null || performance.now() > endMs)
        throw new Error(`the Consul agent did not start: ${log()}`)
      // Once the agent is the leader, the catalog contains its own node.
      const nodes = await call('GET', '/health/service/consul?passing').catch(() => [])
      if (Array.isArray(nodes) && nodes.length > 0) return
      await delay(20)
    }
  }

  async function stop(): Promise<void> {
    process.off('exit', onExit)
    child?.kill('SIGCONT')
    await kill()
    rmSync(folder, { recursive: true, force: true })
  }

  const onExit = (): boolean | undefined => child?.kill('SIGKILL')
  process.once('exit', onExit)
  try {
    await start()
  } catch (error) {
    await stop()
    throw error
  }
  return {
    host: '127.0.0.1',
    port: port!,
    token: acl ? TOKEN : undefined,
    call,
    kill,
    freeze: () => child?.kill('SIGSTOP'),
    resume: () => child?.kill('SIGCONT'),
    start,
    stop,
  }
}

function writeCertificate(
  folder: string,
  { cert, key }: { readonly cert: string; readonly key: string },
): object {
  const cert_file = join(folder, 'agent.crt')
  const key_file = join(folder, 'agent.key')
  writeFileSync(cert_file, cert)
  writeFileSync(key_file, key, { mode: 0o600 })
  return { cert_file, key_file, ca_file: cert_file }
}

/** Finds four free ports, which are opened simultaneously so that they differ. */
async function findPorts(): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const server = createServer().listen(0, '127.0.0.1')
      await once(server, 'listening')
      return server
    }),
  )
  const ports = servers.map((server) => (server.address() as { port: number }).port)
  await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))))
  return ports
}
