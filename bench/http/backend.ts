import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findNginx } from '../rivals/nginx.ts'
import { ROOT, toNodeCommand } from '../rivals/rival.ts'
import { createFolder, findPort, OTHER_CORES, startProgram } from './processes.ts'
import { waitUntilReady } from './ready.ts'

/** The program all rivals forward to. */
export interface Backend {
  readonly port: number
  /** What it is, for the results. */
  readonly description: string
  readonly stop: () => Promise<void>
}

/** Starts nginx answering by itself, or, where it is missing, a small Node.js server, which is slower than what is measured. */
export async function startBackend(): Promise<Backend> {
  const folder = createFolder()
  const port = await findPort()
  const nginx = findNginx()
  let command = toNodeCommand('../http/backend-server', String(port))
  if (nginx !== undefined) {
    writeFileSync(join(folder, '64k.bin'), Buffer.alloc(64 * 1024, 'x'))
    writeFileSync(join(folder, '1m.bin'), Buffer.alloc(1024 * 1024, 'x'))
    const template = readFileSync(join(ROOT, 'bench/http/backend.nginx.conf'), 'utf8')
    const file = join(folder, 'backend.nginx.conf')
    writeFileSync(
      file,
      template.replaceAll('{{folder}}', folder).replaceAll('{{port}}', String(port)),
    )
    command = [nginx, '-p', folder, '-c', file]
  }
  const program = startProgram(command, OTHER_CORES)
  await waitUntilReady(program, `http://127.0.0.1:${port}/bench/hello`)
  return {
    port,
    description:
      nginx === undefined
        ? 'node:http (nginx is not installed: the backend is the bottleneck)'
        : 'nginx `return 200`',
    async stop() {
      await program.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
