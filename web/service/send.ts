import type { Endpoint } from '../../core/contracts/registry.ts'
import { PAYLOAD_MAX_BYTES } from '../../core/rpc/ws/frames.ts'
import { parseMetadataLines, parseTimeout } from '../form/call-options.ts'
import type { Owner } from '../form/history.ts'
import { withoutSecrets } from '../form/secrets.ts'
import { type Problem, ROOT } from '../form/to-request.ts'
import { readRequest } from '../form/typed-request.ts'
import { CallError } from '../rpc/call-error.ts'
import { type CallOptions, call, openStream } from '../rpc/caller.ts'
import { toBody } from '../rpc/frames.ts'
import type { CallState, Outcome } from './call-state.ts'
import { toKind } from './endpoint-kind.ts'
import { keepCall } from './past-calls.ts'

/** Where calls go, and whose they are. */
export interface Target {
  readonly service: string
  readonly namespace: string
  readonly account: Owner
  readonly endpoint: Endpoint
}

/** Paths of what is no part of the request. */
export const METADATA = 'metadata'
export const TIMEOUT = 'timeout'

/** Calls, or opens a stream, with what is typed; or says what is wrong with it. */
export function send(sheet: CallState, target: Target): void {
  const request = readRequest(sheet)
  const { options, problems } = readOptions(sheet, target)
  sheet.problems.value = [...request.problems, ...problems]
  if (sheet.problems.value.length > 0) return
  if (toKind(target.endpoint) === 'unary') void callOnce(sheet, target, request.value, options)
  else if (sheet.stream.isOpen) sendOn(sheet, request.value as object)
  else open(sheet, target, request.value as object, options)
}

/** Opens a stream without a message: they are sent later, or the service begins. */
export function openEmpty(sheet: CallState, target: Target): void {
  const { options, problems } = readOptions(sheet, target)
  sheet.problems.value = problems
  if (problems.length === 0) open(sheet, target, undefined, options)
}

/** One more message of a stream; of one that is too long it says so, and the stream goes on. */
function sendOn({ stream, problems }: CallState, message: object): void {
  const { length } = toBody(message)
  if (length <= PAYLOAD_MAX_BYTES) return stream.send(message)
  const told = `must be at most ${PAYLOAD_MAX_BYTES} bytes, got ${length}`
  problems.value = [{ path: ROOT, message: told }]
}

async function callOnce(
  sheet: CallState,
  target: Target,
  request: unknown,
  options: CallOptions,
): Promise<void> {
  const { outcome } = sheet
  const controller = new AbortController()
  const startedMs = performance.now()
  const calling: Outcome = { state: 'calling', cancel: () => controller.abort() }
  if (outcome.value?.state === 'calling') outcome.value.cancel()
  outcome.value = calling
  const settle = (code: number, next: Outcome): void => {
    keep(sheet, target, request, code, performance.now() - startedMs)
    // Another call may have begun meanwhile: its answer is the one that counts.
    if (outcome.value === calling) outcome.value = next
  }
  try {
    const { service, endpoint } = target
    const { signal } = controller
    const answer = await call(service, endpoint.name, request as object, { ...options, signal })
    settle(200, { state: 'answered', answer })
  } catch (thrown) {
    const error = CallError.from(thrown)
    settle(error.code, { state: 'failed', error, tookMs: performance.now() - startedMs })
    tellProblem(sheet, error)
  }
}

function open(
  sheet: CallState,
  target: Target,
  request: object | undefined,
  options: CallOptions,
): void {
  const { service, endpoint } = target
  const startedMs = performance.now()
  const sends = toKind(endpoint) !== 'server'
  const stream = openStream<unknown>(service, endpoint.name, request, { ...options, sends })
  void sheet.stream.follow(stream, request).then((error) => {
    keep(sheet, target, request ?? {}, error?.code ?? 200, performance.now() - startedMs)
    if (error !== undefined) tellProblem(sheet, error)
  })
}

/** What a service says of a field stands at the field: `request.name must be a string, got 5`. */
function tellProblem({ problems }: CallState, { code, detail }: CallError): void {
  const [, path, message] = /^(request(?:\.[\w$]+|\[[^\]]*\])*):? (.+)$/s.exec(detail) ?? []
  if (code === 400 && path !== undefined && message !== undefined)
    problems.value = [{ path, message }]
}

function readOptions(
  { metadata, timeout }: CallState,
  { namespace }: Target,
): { readonly options: CallOptions; readonly problems: readonly Problem[] } {
  const problems: Problem[] = []
  const read = <T>(path: string, parse: () => T): T | undefined => {
    try {
      return parse()
    } catch (error) {
      problems.push({ path, message: (error as Error).message })
      return undefined
    }
  }
  const fields = read(METADATA, () => parseMetadataLines(metadata.value)) ?? []
  const timeoutMs = read(TIMEOUT, () => parseTimeout(timeout.value))
  const options = { namespace, fields: Object.fromEntries(fields) }
  return { options: timeoutMs === undefined ? options : { ...options, timeoutMs }, problems }
}

function keep(
  { field }: CallState,
  { account, namespace, service, endpoint }: Target,
  request: unknown,
  code: number,
  tookMs: number,
): void {
  keepCall(account, {
    ...{ at: Date.now(), namespace, service, endpoint: endpoint.name, code, tookMs },
    request: JSON.stringify(withoutSecrets(field, request)),
  })
}
