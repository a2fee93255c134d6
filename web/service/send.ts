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
import { saveCall } from './past-calls.ts'

/** An endpoint to call, and the calling account. */
export interface Target {
  readonly service: string
  readonly namespace: string
  readonly account: Owner
  readonly endpoint: Endpoint
}

/** Error paths of inputs outside the request. */
export const METADATA = 'metadata'
export const TIMEOUT = 'timeout'

/** Validates the input and then calls the endpoint, opens a stream, or sends on the open stream. */
export function send(callState: CallState, target: Target): void {
  const request = readRequest(callState)
  const { options, problems } = readOptions(callState, target)
  callState.problems.value = [...request.problems, ...problems]
  if (callState.problems.value.length > 0) return
  if (toKind(target.endpoint) === 'unary') void callOnce(callState, target, request.value, options)
  else if (callState.stream.isOpen) sendMessage(callState, request.value as object)
  else open(callState, target, request.value as object, options)
}

/** Opens a stream without a first message. */
export function openEmpty(callState: CallState, target: Target): void {
  const { options, problems } = readOptions(callState, target)
  callState.problems.value = problems
  if (problems.length === 0) open(callState, target, undefined, options)
}

/** Sends a message on an open stream. A message over the size limit is rejected without ending the stream. */
function sendMessage({ stream, problems }: CallState, message: object): void {
  const { length } = toBody(message)
  if (length <= PAYLOAD_MAX_BYTES) return stream.send(message)
  const error = `must be at most ${PAYLOAD_MAX_BYTES} bytes, got ${length}`
  problems.value = [{ path: ROOT, message: error }]
}

async function callOnce(
  callState: CallState,
  target: Target,
  request: unknown,
  options: CallOptions,
): Promise<void> {
  const { outcome } = callState
  const controller = new AbortController()
  const startedMs = performance.now()
  const calling: Outcome = { state: 'calling', cancel: () => controller.abort() }
  if (outcome.value?.state === 'calling') outcome.value.cancel()
  outcome.value = calling
  const settle = (code: number, next: Outcome): void => {
    addHistory(callState, target, request, code, performance.now() - startedMs)
    // A newer call takes precedence.
    if (outcome.value === calling) outcome.value = next
  }
  try {
    const { service, endpoint } = target
    const { signal } = controller
    const response = await call(service, endpoint.name, request as object, { ...options, signal })
    settle(200, { state: 'succeeded', response })
  } catch (thrown) {
    const error = CallError.from(thrown)
    settle(error.code, { state: 'failed', error, tookMs: performance.now() - startedMs })
    showFieldError(callState, error)
  }
}

function open(
  callState: CallState,
  target: Target,
  request: object | undefined,
  options: CallOptions,
): void {
  const { service, endpoint } = target
  const startedMs = performance.now()
  const sends = toKind(endpoint) !== 'server'
  const stream = openStream<unknown>(service, endpoint.name, request, { ...options, sends })
  void callState.stream.follow(stream, request).then((error) => {
    addHistory(callState, target, request ?? {}, error?.code ?? 200, performance.now() - startedMs)
    if (error !== undefined) showFieldError(callState, error)
  })
}

/** Shows a service error such as `request.name must be a string, got 5` next to the field. */
function showFieldError({ problems }: CallState, { code, detail }: CallError): void {
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

function addHistory(
  { field }: CallState,
  { account, namespace, service, endpoint }: Target,
  request: unknown,
  code: number,
  tookMs: number,
): void {
  saveCall(account, {
    ...{ at: Date.now(), namespace, service, endpoint: endpoint.name, code, tookMs },
    request: JSON.stringify(withoutSecrets(field, request)),
  })
}
