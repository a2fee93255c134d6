import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPort, type Program, startProgram } from '../http/servers/processes.ts'
import { waitUntilReady } from '../http/servers/ready.ts'
import { ROOT } from '../rivals/rival.ts'

const MX = join(ROOT, 'dist/cli/bundle/mx.js')

/** `mx server` with its data in a folder, and a CLI that is logged in as administrator. */
export interface Platform {
  readonly server: Program
  /** `http://127.0.0.1:<port>` */
  readonly gateway: string
  /** Runs a command. @returns its duration in milliseconds. @throws {Error} with its output if it fails. */
  readonly run: (...words: readonly string[]) => Promise<number>
  /** Starts a long-running command with piped standard output. */
  readonly start: (...words: readonly string[]) => ChildProcess
  /** Writes a program to a folder. @returns its path. */
  readonly write: (name: string, program: string) => string
  readonly stop: () => Promise<void>
}

export async function openPlatform(folder: string): Promise<Platform> {
  const [gateway, proxy, web] = [await findPort(), await findPort(), await findPort()]
  const env = { ...process.env, HOME: folder, MX_ENV_LOCAL_ADDRESS: `127.0.0.1:${proxy}` }
  const ports = [`--address=127.0.0.1:${gateway}`, `--proxy_address=127.0.0.1:${proxy}`]
  const words = ['server', ...ports, `--web_address=127.0.0.1:${web}`, '--access_log=off']
  const server = startProgram([process.execPath, MX, ...words], [], { HOME: folder })
  const url = `http://127.0.0.1:${gateway}`
  await waitUntilReady(server, `${url}/auth/keys`)

  const start = (...words: readonly string[]) =>
    spawn(process.execPath, [MX, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  async function run(...words: readonly string[]): Promise<number> {
    const startMs = performance.now()
    const child = start(...words)
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        output += chunk
      })
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`mx ${words.join(' ')} exited with status ${code}: ${output}`)
    return performance.now() - startMs
  }
  const password = readFileSync(join(folder, '.mx/admin_password'), 'utf8').trim()
  await run('login', 'admin', `--password=${password}`)
  return {
    server,
    gateway: url,
    run,
    start,
    write(name, program) {
      const path = join(folder, 'sources', name)
      mkdirSync(path, { recursive: true })
      writeFileSync(join(path, 'main.ts'), program)
      writeFileSync(join(path, 'mx.yaml'), 'protocol: http\n')
      return path
    },
    stop: server.stop,
  }
}
