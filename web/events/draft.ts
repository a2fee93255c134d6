import type { PickedFile } from '../components/files/file-limit.ts'
import { parseMetadata, writeMetadata } from '../form/metadata.ts'
import { decodeBase64, encodeBase64 } from '../store/base64.ts'
import { formatValue, parseTypedValue, toFormat, type ValueFormat } from '../store/value-format.ts'
import type { EventMessage } from './event.ts'
import { parseTime } from './start.ts'

/** An event as it is typed. */
export interface Draft {
  readonly topic: string
  readonly format: ValueFormat
  readonly payload: string
  /** What is the payload in place of what is typed. */
  readonly file?: PickedFile | undefined
  readonly metadata: string
  /** Of a field for local times; empty: now. */
  readonly time: string
}

export type DraftField = keyof Draft

/** Where it is kept: of whichever topic. */
export const PLACE: readonly string[] = ['events', 'publish']

export const EMPTY: Draft = { topic: '', format: 'json', payload: '', metadata: '', time: '' }

/** An event to publish once more. */
export function toDraft({ topic, payload, metadata }: EventMessage): Draft {
  const bytes = decodeBase64(payload)
  const format = toFormat(bytes)
  return {
    ...{ topic, format, time: '' },
    payload: formatValue(bytes, format),
    metadata: writeMetadata(metadata),
  }
}

/** What is wrong with a draft, by field. */
export type DraftErrors = Partial<Record<DraftField, string>>

/** The request of `Stream.Publish`, or what is wrong. */
export function toRequest(typed: Draft): { readonly request: object } | { errors: DraftErrors } {
  const errors: DraftErrors = {}
  const read = <T>(field: DraftField, parse: () => T): T | undefined => {
    try {
      return parse()
    } catch (error) {
      errors[field] = (error as Error).message
      return undefined
    }
  }
  const topic = typed.topic.trim()
  if (topic === '') errors.topic = 'name a topic'
  const payload = read('payload', () =>
    encodeBase64(typed.file?.bytes ?? parseTypedValue(typed.payload, typed.format)),
  )
  const metadata = read('metadata', () => parseMetadata(typed.metadata))
  const timestamp_ms = read('time', () => (typed.time === '' ? 0 : parseTime(typed.time)))
  if (Object.keys(errors).length > 0) return { errors }
  return { request: { topic, payload, metadata, timestamp_ms } }
}
