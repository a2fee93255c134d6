import type { JSX } from 'preact'
import { Field } from '../components/field.tsx'
import { parseExpiry } from './expiry.ts'

export interface ExpiryFieldProps {
  readonly typed: string
  readonly onInput: (typed: string) => void
  /** What is so when nothing is typed. */
  readonly otherwise: string
}

/** When a record ends. */
export function ExpiryField({ typed, onInput, otherwise }: ExpiryFieldProps): JSX.Element {
  return (
    <Field
      label="Ends in"
      help={`Such as 90s, 10m, 2h, 1d, or never. Empty: ${otherwise}.`}
      error={tryExpiry(typed)}
    >
      {(control) => (
        <input
          {...control}
          type="text"
          autocomplete="off"
          value={typed}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      )}
    </Field>
  )
}

/** What is wrong with it; undefined: nothing. */
export function tryExpiry(typed: string): string | undefined {
  try {
    parseExpiry(typed)
    return undefined
  } catch (error) {
    return (error as RangeError).message
  }
}
