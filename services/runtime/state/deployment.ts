import type { WorkloadState } from '../../../core/contracts/runtime.ts'
import { type BuildOutput, openBuildOutput } from '../jobs/build-output.ts'
import type { Folders } from '../jobs/folders.ts'
import type { Prepare } from '../jobs/prepare.ts'
import { needsBuild, type Revision, type ServiceRecord } from './records.ts'

export interface DeploymentOptions {
  readonly record: ServiceRecord
  readonly folders: Folders
  readonly prepare: Prepare
  /** Waits for a build slot and returns a function that releases it. */
  readonly acquireSlot: (signal: AbortSignal) => Promise<() => void>
  /** Applies the revision to the runtime. */
  readonly apply: (revision: Revision) => Promise<void>
  /** Yields the state of the object immediately and after each change. */
  readonly states: (signal: AbortSignal) => AsyncIterable<WorkloadState | undefined>
  readonly onPhase: () => void
}

/** A deployment of an object that is in progress. */
export interface Deployment {
  readonly requestId: string
  readonly phase: 'pending' | 'building' | 'starting'
  readonly output: Promise<BuildOutput>
  /** Resolves with the revision once it is running. Rejects with the cause of the failure. */
  readonly done: Promise<Revision>
  /** Cancels the deployment. Resolves once all its work has ended. */
  readonly stop: () => Promise<void>
}

/** Builds and starts the requested revision. Settles once the revision is running or has failed. */
export function startDeployment(options: DeploymentOptions): Deployment {
  const { record, folders, prepare, acquireSlot, apply, states, onPhase } = options
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
    let release = (): void => {}
    try {
      if (needsBuild(record)) release = await acquireSlot(signal)
      enter('building')
      return await prepare(record, { onOutput: write, signal })
    } catch (error) {
      if (!signal.aborted) write(`${toMessage(error).split('\n', 1)[0]}\n`)
      throw error
    } finally {
      release()
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
      if (isOlder || state.status === 'error') throw new Error(state.error ?? 'it does not start')
    }
    throw signal.reason
  }

  const result = run()
  result.catch(() => {})
  return {
    requestId: record.asked.id,
    get phase() {
      return phase
    },
    ...{ output, done: result },
    async stop() {
      stopping.abort(new Error('the deployment was cancelled'))
      await result.catch(() => {})
    },
  }
}

/** Returns an error message for callers. */
export function toMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
