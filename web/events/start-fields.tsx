import type { JSX } from 'preact'
import { Field } from '../components/field.tsx'
import type { StartDraft } from './start.ts'

export interface StartFieldsProps {
  readonly value: StartDraft
  readonly onInput: (value: StartDraft) => void
  /** Label of the option `new`. */
  readonly newest: string
}

/** Inputs for a start position in a topic. */
export function StartFields({ value, onInput, newest }: StartFieldsProps): JSX.Element {
  const { from, sequence, time } = value
  return (
    <>
      <Field label="From">
        {(control) => (
          <select
            {...control}
            value={from}
            onChange={({ currentTarget }) =>
              onInput({ ...value, from: currentTarget.value as StartDraft['from'] })
            }
          >
            <option value="new">{newest}</option>
            <option value="oldest">Oldest</option>
            <option value="sequence">Sequence</option>
            <option value="time">Time</option>
          </select>
        )}
      </Field>
      {from === 'sequence' && (
        <Field label="Sequence">
          {(control) => (
            <input
              {...control}
              inputMode="numeric"
              value={sequence}
              onInput={({ currentTarget }) => onInput({ ...value, sequence: currentTarget.value })}
            />
          )}
        </Field>
      )}
      {from === 'time' && (
        <Field label="Time">
          {(control) => (
            <input
              {...control}
              type="datetime-local"
              step={1}
              value={time}
              onInput={({ currentTarget }) => onInput({ ...value, time: currentTarget.value })}
            />
          )}
        </Field>
      )}
    </>
  )
}
