import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findNginx } from '../../rivals/nginx.ts'
import { ROOT, toNodeCommand } from '../../rivals/rival.ts'
import type { Scenario } from '../scenario.ts'
import { LARGE_JSON, SMALL_JSON, SMALL_PROTOBUF } from './documents.ts'
import { createFolder, findPort, OTHER_CORES, type Program, startProgram } from './processes.ts'
import { waitUntilOpen, waitUntilReady } from './ready.ts'

/** Backend ports on 127.0.0.1; 0 if a backend is not started. */
export interface BackendPorts {
  /** HTTP backend with immediate responses. */
  readonly port: number
  /** HTTP backend with delayed or streamed responses. */
  readonly serverPort: number
  /** gRPC backend. */
  readonly grpcPort: number
  /** Service for mx with the same responses over the call protocol. */
  readonly servicePort: number
}

/** Backend programs, shared by all rivals. */
export interface Backend extends BackendPorts {
  /** Process id of the service; 0 if it is not started. */
  readonly servicePid: number
  /** Describes the backend of a scenario, for the results. */
  readonly describe: (scenario: Scenario) => string
  readonly stop: () => Promise<void>
}

/**
 * Starts the backends of `scenarios`: nginx with static responses; a Node.js server for responses that nginx cannot
 * produce; and the service of the RPC scenarios. If nginx is missing, the Node.js server replaces it, although it is
 * slower than the measured programs.
 */
export async function startBackend(scenarios: readonly Scenario[]): Promise<Backend> {
  const folder = createFolder()
  const nginx = findNginx()
  const programs: Program[] = []
  const start = (command: readonly string[]): Program => {
    const program = startProgram(command, OTHER_CORES)
    programs.push(program)
    return program
  }
  const startHttp = async (toCommand: (port: number) => readonly string[]): Promise<number> => {
    const port = await findPort()
    await waitUntilReady(start(toCommand(port)), `http://127.0.0.1:${port}/bench/hello`)
    return port
  }
  const startServer = () =>
    startHttp((port) => toNodeCommand('http/servers/backend-server', String(port)))
  const startGrpc = async () => {
    const port = await findPort()
    await waitUntilOpen(start(toNodeCommand('http/servers/grpc-server', String(port))), port)
    return port
  }
  const startService = async () => {
    const port = await findPort()
    const program = start(toNodeCommand('http/servers/rpc-service', String(port)))
    await waitUntilOpen(program, port)
    return { servicePort: port, servicePid: program.pid }
  }
  const stop = async () => {
    for (const program of programs) await program.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  const needs = (field: 'backend' | 'handler', value: string) =>
    scenarios.some((scenario) => scenario[field] === value)
  try {
    const port = await (nginx === undefined
      ? startServer()
      : startHttp((free) => [nginx, '-p', folder, '-c', writeFiles(folder, free)]))
    const serverPort = needs('backend', 'server') ? await startServer() : 0
    const grpcPort = needs('backend', 'grpc') ? await startGrpc() : 0
    const noService = { servicePort: 0, servicePid: 0 }
    const service = needs('handler', 'rpc') ? await startService() : noService
    const describe = (scenario: Scenario) => describeBackend(scenario, nginx !== undefined)
    return { port, serverPort, grpcPort, ...service, describe, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Port of a scenario's HTTP backend. */
export function findBackendPort({ backend }: Scenario, ports: BackendPorts): number {
  if (backend === 'grpc') return ports.grpcPort
  return backend === 'server' ? ports.serverPort : ports.port
}

/** Writes the files for nginx. @returns the path of its configuration. */
function writeFiles(folder: string, port: number): string {
  writeFileSync(join(folder, '64k.bin'), Buffer.alloc(64 * 1024, 'x'))
  writeFileSync(join(folder, '1m.bin'), Buffer.alloc(1024 * 1024, 'x'))
  writeFileSync(join(folder, 'large.json'), LARGE_JSON)
  const template = readFileSync(join(ROOT, 'bench/http/servers/backend.nginx.conf'), 'utf8')
  const file = join(folder, 'backend.nginx.conf')
  const text = template
    .replaceAll('{{folder}}', folder)
    .replaceAll('{{port}}', String(port))
    .replaceAll('{{small}}', SMALL_JSON)
    .replaceAll('{{protobuf}}', SMALL_PROTOBUF.toString('latin1'))
  writeFileSync(file, text, 'latin1')
  return file
}

function describeBackend({ backend, handler }: Scenario, hasNginx: boolean): string {
  if (backend === 'grpc') return 'node:http2'
  const missing = 'node:http (nginx is not installed: the backend is the bottleneck)'
  const direct = hasNginx ? 'nginx `return 200`' : missing
  const httpBackend = backend === 'server' ? 'node:http' : direct
  return handler === 'rpc' ? `${httpBackend}; for mx a service built with its SDK` : httpBackend
}
