import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { findPort, readUsage, startProgram } from '../http/servers/processes.ts'
import { waitUntilReady } from '../http/servers/ready.ts'
import type { Goal } from '../report/goals.ts'
import { ROOT } from '../rivals/rival.ts'

/** Result of starting `mx`. */
export interface Start {
  /** Time from process start to the first response. */
  readonly readyMs: number
  /** Resident memory in megabytes (10^6 bytes), after collecting the garbage from startup. */
  readonly megabytes: number
}

const MAIN = join(ROOT, 'dist/cli/bundle/mx.js')
const SETTLE_MS = 1500
export const READY_MS = 1000
const MEGABYTES = 150

/** Starts `mx server` on free ports and requests a public endpoint whose service uses the store. */
export async function measureServer(words: readonly string[]): Promise<Start> {
  const ports = [
    `--proxy_address=127.0.0.1:${await findPort()}`,
    `--web_address=127.0.0.1:${await findPort()}`,
  ]
  return await measureStart(['server', ...ports, ...words], '/auth/keys')
}

/** Starts a command on a free port and requests a path until the status is 200. */
export async function measureStart(words: readonly string[], path: string): Promise<Start> {
  const port = await findPort()
  const command = [process.execPath, MAIN, ...words, `--address=127.0.0.1:${port}`]
  const program = startProgram(command, [])
  try {
    const readyMs = await waitUntilReady(program, `http://127.0.0.1:${port}${path}`)
    await wait(SETTLE_MS)
    return { readyMs, megabytes: readUsage(program.pid).rssBytes / 1e6 }
  } finally {
    await program.stop()
  }
}

/** Goals for starting `mx server`. @param maxMs time limit on this machine. */
export function toStartGoals(
  label: string,
  { readyMs, megabytes }: Start,
  maxMs: number = READY_MS,
): readonly Goal[] {
  return [
    { label: `${label}, ready after ms`, value: Math.round(readyMs), atMost: maxMs },
    { label: `${label}, MB`, value: Math.round(megabytes), atMost: MEGABYTES },
  ]
}
