import type { PickedFile } from '../components/files/file-limit.ts'
import { parseMetadata, writeMetadata } from '../form/metadata.ts'
import { decodeBase64, encodeBase64 } from '../store/base64.ts'
import { formatValue, parseValue, toFormat, type ValueFormat } from '../store/value-format.ts'
import type { EventMessage } from './event.ts'
import { parseTime } from './start.ts'

/** Content of the publish form. */
export interface Draft {
  readonly topic: string
  readonly format: ValueFormat
  readonly payload: string
  /** Selected file, which replaces `payload`. */
  readonly file?: PickedFile | undefined
  readonly metadata: string
  /** Value of a `datetime-local` input; empty for now. */
  readonly time: string
}

export type DraftField = keyof Draft

/** Draft key shared by all topics. */
export const DRAFT_KEY: readonly string[] = ['events', 'publish']

export const EMPTY: Draft = { topic: '', format: 'json', payload: '', metadata: '', time: '' }

/** Fills the publish form with an event. */
export function toDraft({ topic, payload, metadata }: EventMessage): Draft {
  const bytes = decodeBase64(payload)
  const format = toFormat(bytes)
  return {
    ...{ topic, format, time: '' },
    payload: formatValue(bytes, format),
    metadata: writeMetadata(metadata),
  }
}

/** Validation errors by field. */
export type DraftErrors = Partial<Record<DraftField, string>>

/** Converts a draft to the request of `Stream.Publish`, or returns validation errors. */
export function toRequest(draft: Draft): { readonly request: object } | { errors: DraftErrors } {
  const errors: DraftErrors = {}
  const read = <T>(field: DraftField, parse: () => T): T | undefined => {
    try {
      return parse()
    } catch (error) {
      errors[field] = (error as Error).message
      return undefined
    }
  }
  const topic = draft.topic.trim()
  if (topic === '') errors.topic = 'required'
  const payload = read('payload', () =>
    encodeBase64(draft.file?.bytes ?? parseValue(draft.payload, draft.format)),
  )
  const metadata = read('metadata', () => parseMetadata(draft.metadata))
  const timestamp_ms = read('time', () => (draft.time === '' ? 0 : parseTime(draft.time)))
  if (Object.keys(errors).length > 0) return { errors }
  return { request: { topic, payload, metadata, timestamp_ms } }
}
