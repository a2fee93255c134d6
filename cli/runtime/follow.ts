import type { Session } from '../session/session.ts'
import { CliError } from '../ui/output.ts'
import type { Steps } from '../ui/progress.ts'
import { followBuild } from './follow-build.ts'
import { type RuntimeObject, toStatus } from './objects.ts'
import { LATEST } from './source.ts'

interface Change {
  readonly action: 'write' | 'delete'
  readonly service: RuntimeObject
}

interface Followed {
  readonly name: string
  readonly version: string
}

/** Hint shown when a start takes long. */
export interface Hint {
  readonly text: string
  readonly afterMs: number
}

/** Output of a plain HTTP program with `--protocol=mx`, which does not set PORT: `KeyError: 'PORT'`. */
const MENTIONS_PORT = /\bPORT\b/
/** Number of lines shown from a failed build. */
const TAIL_LINES = 20

/**
 * Waits until an object is running, or until its update is complete.
 *
 * @throws {CliError} with the reason of a failure and the last lines of a failed build
 */
export async function untilRunning(
  session: Session,
  target: Followed,
  steps: Steps,
  hint?: Hint,
): Promise<void> {
  const timer = createHintTimer(steps, hint)
  try {
    await follow(session, target, steps, timer)
  } finally {
    timer.end()
  }
}

/** Prints a hint once, either after its delay or immediately. */
interface HintTimer {
  readonly begin: () => void
  readonly show: () => void
  readonly end: () => void
}

function createHintTimer(steps: Steps, hint: Hint | undefined): HintTimer {
  let timer: NodeJS.Timeout | undefined
  return {
    begin() {
      if (hint !== undefined) timer ??= setTimeout(steps.note, hint.afterMs, hint.text)
    },
    show() {
      if (hint !== undefined) steps.note(hint.text)
    },
    end: () => clearTimeout(timer),
  }
}

async function follow(
  session: Session,
  target: Followed,
  steps: Steps,
  timer: HintTimer,
): Promise<void> {
  const { name, version } = target
  const options = { service: name, version, namespace: session.namespace }
  let hasStarted = false
  let isRetried = false
  let last = ''
  // The first message is the current state.
  const changes = session.stream<Change>(
    'runtime',
    'Runtime.Watch',
    { options },
    { resume: () => ({ options }) },
  )
  for await (const change of changes) {
    const { action, service } = change
    if (action === 'delete') throw new CliError(`${name} was killed before it started`)
    const step = toStep(service)
    if (step === 'running') return
    if (step === 'error' || step === 'unknown') throw await explain(session, service, hasStarted)
    if (step === 'starting') {
      hasStarted = true
      timer.begin()
    }
    const { error, retries } = service.metadata
    if (step === 'starting' && error && Number(retries) > 0 && !isRetried) {
      isRetried = true
      timer.end()
      steps.note(`${name} ${error}; restarting`)
      if (MENTIONS_PORT.test(error)) timer.show()
    }
    steps.show(error ? `${step}, after: ${error}` : step)
    if (step === 'building' && last !== step && steps.isVisible)
      void showBuild(
        session,
        target,
        (line) => last === 'building' && steps.show(`building: ${line}`),
      )
    last = step
  }
  throw new CliError(`the platform stopped reporting the state of ${name}. See 'mx status ${name}'`)
}

/** State of the deployment. After a failed update, the previous build keeps running. */
function toStep(service: RuntimeObject): string {
  const { update, error } = service.metadata
  if (update) return update
  const status = toStatus(service)
  return status === 'running' && error ? 'error' : status
}

/** Reports the newest line of the build output until the build ends. */
async function showBuild(
  session: Session,
  target: Followed,
  onLine: (line: string) => void,
): Promise<void> {
  try {
    for await (const text of followBuild(session, target)) {
      const line = text.trimEnd().split('\n').at(-1)
      if (line) onLine(line)
    }
  } catch {
    // Build output is only informational, and the stream ends with the session.
  }
}

async function explain(
  session: Session,
  service: RuntimeObject,
  hasStarted: boolean,
): Promise<CliError> {
  const { name, version, metadata } = service
  const [reason = 'unknown reason', ...more] = (metadata['error'] ?? '').trim().split('\n')
  const tail = more.length > 0 || hasStarted ? more : await readBuild(session, service)
  const lines = tail
    .filter((line) => line !== reason)
    .slice(-TAIL_LINES)
    .map((line) => `  ${line}\n`)
  const isUpdate = toStatus(service) === 'running'
  const outcome = isUpdate
    ? `the update of ${name} failed, the previous build keeps running`
    : `${name} failed`
  const object = version === LATEST ? name : `${name}@${version}`
  const advice = isUpdate ? '' : `It stays in 'mx status' until 'mx kill ${object}'`
  if (lines.length > 0)
    return new CliError(`${outcome}: ${reason}\n${lines.join('')}${advice}`.trimEnd())
  const logs = hasStarted ? `See 'mx logs ${object}'` : ''
  const sentences = [`${outcome}: ${reason}`, logs, advice].filter((text) => text !== '')
  return new CliError(sentences.join('. '))
}

/** Retained output of the last build, which has ended. */
async function readBuild(session: Session, target: Followed): Promise<readonly string[]> {
  let text = ''
  try {
    for await (const more of followBuild(session, target)) text += more
  } catch {
    // There may be no build. The failure is reported anyway.
  }
  return text.trim() === '' ? [] : text.trimEnd().split('\n')
}
