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

/** What is told where something takes its time to start. */
export interface Hint {
  readonly text: string
  /** Milliseconds. */
  readonly afterMs: number
}

/** The variable that plain HTTP programs read and programs of the SDK do not: `KeyError: 'PORT'`. */
const NAMES_PORT = /\bPORT\b/
/** Lines of a failed build that are shown. */
const TAIL_LINES = 20

/**
 * Waits until what was asked for runs: a new object, or an update of one.
 *
 * @throws {CliError} why it does not, with the end of the build's output where that failed.
 */
export async function untilRunning(
  session: Session,
  of: Followed,
  steps: Steps,
  hint?: Hint,
): Promise<void> {
  const late = openLate(steps, hint)
  try {
    await follow(session, of, steps, late)
  } finally {
    late.end()
  }
}

/** Prints a hint once: some time after the wait began, or at once. */
interface Late {
  readonly begin: () => void
  readonly show: () => void
  /** The hint is not printed any more. */
  readonly end: () => void
}

function openLate(steps: Steps, hint: Hint | undefined): Late {
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

async function follow(session: Session, of: Followed, steps: Steps, late: Late): Promise<void> {
  const { name, version } = of
  const options = { service: name, version, namespace: session.namespace }
  let hasStarted = false
  let isRetried = false
  let last = ''
  // Tells at first how it is, also when it is opened again.
  const changes = session.stream<Change>(
    'runtime',
    'Runtime.Watch',
    { options },
    { resume: () => ({ options }) },
  )
  for await (const change of changes) {
    const { action, service } = change
    if (action === 'delete') throw new CliError(`${name} was killed before it ran`)
    const step = toStep(service)
    if (step === 'running') return
    if (step === 'error' || step === 'unknown') throw await explain(session, service, hasStarted)
    if (step === 'starting') {
      hasStarted = true
      late.begin()
    }
    const { error, retries } = service.metadata
    if (step === 'starting' && error && Number(retries) > 0 && !isRetried) {
      isRetried = true
      // What ends does not keep anybody waiting without a reason.
      late.end()
      steps.note(`${name} ${error}; it is started again`)
      if (NAMES_PORT.test(error)) late.show()
    }
    steps.show(error ? `${step}, after: ${error}` : step)
    if (step === 'building' && last !== step && steps.areSeen)
      void showBuild(session, of, (line) => last === 'building' && steps.show(`building: ${line}`))
    last = step
  }
  throw new CliError(`the platform no longer tells how ${name} is: mx status ${name}`)
}

/** How far it is: an update that failed leaves what ran before running. */
function toStep(service: RuntimeObject): string {
  const { update, error } = service.metadata
  if (update) return update
  const status = toStatus(service)
  return status === 'running' && error ? 'error' : status
}

/** Tells the newest line of a build's output, again and again until it ends. */
async function showBuild(
  session: Session,
  of: Followed,
  onLine: (line: string) => void,
): Promise<void> {
  try {
    for await (const text of followBuild(session, of)) {
      const line = text.trimEnd().split('\n').at(-1)
      if (line) onLine(line)
    }
  } catch {
    // It ends with the session, too, and is but for those who like to see it.
  }
}

async function explain(
  session: Session,
  service: RuntimeObject,
  hasStarted: boolean,
): Promise<CliError> {
  const { name, version, metadata } = service
  const [reason = 'nobody knows why', ...rest] = (metadata['error'] ?? '').trim().split('\n')
  const tail = rest.length > 0 || hasStarted ? rest : await readBuild(session, service)
  const lines = tail
    .filter((line) => line !== reason)
    .slice(-TAIL_LINES)
    .map((line) => `  ${line}\n`)
  const isUpdate = toStatus(service) === 'running'
  const what = isUpdate ? `the update of ${name} failed, what ran before goes on` : `${name} failed`
  if (lines.length > 0) return new CliError(`${what}: ${reason}\n${lines.join('').trimEnd()}`)
  const object = version === LATEST ? name : `${name}@${version}`
  return new CliError(`${what}: ${reason}${hasStarted ? `. See 'mx logs ${object}'` : ''}`)
}

/** What is kept of the last build's output; it has ended. */
async function readBuild(session: Session, of: Followed): Promise<readonly string[]> {
  let text = ''
  try {
    for await (const more of followBuild(session, of)) text += more
  } catch {
    // It may not have come as far as a build; why it failed is told already.
  }
  return text.trim() === '' ? [] : text.trimEnd().split('\n')
}
