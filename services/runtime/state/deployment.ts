import type { WorkloadState } from '../../../core/contracts/runtime.ts'
import { type BuildOutput, openBuildOutput } from '../jobs/build-output.ts'
import type { Folders } from '../jobs/folders.ts'
import type { Prepare } from '../jobs/prepare.ts'
import { needsBuild, type Revision, type ServiceRecord } from './records.ts'

export interface DeploymentOptions {
  readonly record: ServiceRecord
  readonly folders: Folders
  readonly prepare: Prepare
  /** Waits until it may build. Returns what lets the next one. */
  readonly turn: (signal: AbortSignal) => Promise<() => void>
  /** Gives what was built to the runtime. */
  readonly apply: (revision: Revision) => Promise<void>
  /** How the object runs, at once and after each change. */
  readonly states: (signal: AbortSignal) => AsyncIterable<WorkloadState | undefined>
  readonly onPhase: () => void
}

/** What an object was asked for, on its way. */
export interface Deployment {
  /** Id of what was asked for. */
  readonly asked: string
  readonly phase: 'pending' | 'building' | 'starting'
  /** Of its build. */
  readonly output: Promise<BuildOutput>
  /** What came up; rejects with why nothing did. */
  readonly done: Promise<Revision>
  /** Gives it up. Resolves once nothing of it goes on. */
  readonly stop: () => Promise<void>
}

/** Builds what an object was asked for, and runs it: over once it runs, or has failed. */
export function startDeployment(options: DeploymentOptions): Deployment {
  const { record, folders, prepare, turn, apply, states, onPhase } = options
  const stopping = new AbortController()
  const { signal } = stopping
  let phase: Deployment['phase'] = 'pending'
  const output = openBuildOutput(folders.output(record, record.asked.id))
  output.catch(() => {})

  const enter = (next: Deployment['phase']): void => {
    phase = next
    onPhase()
  }

  async function build(): Promise<Revision> {
    const { write, end } = await output
    let leave = (): void => {}
    try {
      if (needsBuild(record)) leave = await turn(signal)
      enter('building')
      return await prepare(record, { onOutput: write, signal })
    } catch (error) {
      if (!signal.aborted) write(`${toMessage(error).split('\n', 1)[0]}\n`)
      throw error
    } finally {
      leave()
      await end()
    }
  }

  async function run(): Promise<Revision> {
    const revision = await build()
    signal.throwIfAborted()
    enter('starting')
    await apply(revision)
    for await (const state of states(signal)) {
      if (state === undefined) continue
      if (state.revision === revision.id && state.status === 'running') return revision
      const isOlder = state.revision !== revision.id && state.error !== undefined
      if (isOlder || state.status === 'error') throw new Error(state.error ?? 'it does not come up')
    }
    throw signal.reason
  }

  const done = run()
  done.catch(() => {})
  return {
    asked: record.asked.id,
    get phase() {
      return phase
    },
    ...{ output, done },
    async stop() {
      stopping.abort(new Error('it was given up'))
      await done.catch(() => {})
    },
  }
}

/** What people are told of a failure. */
export function toMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
