import type { JSX } from 'preact'
import { Field } from '../components/field.tsx'
import type { TypedStart } from './start.ts'

export interface StartFieldsProps {
  readonly value: TypedStart
  readonly onInput: (value: TypedStart) => void
  /** What `new` is called. */
  readonly newest: string
}

/** Where in a topic to begin. */
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
              onInput({ ...value, from: currentTarget.value as TypedStart['from'] })
            }
          >
            <option value="new">{newest}</option>
            <option value="oldest">the oldest that is kept</option>
            <option value="sequence">a sequence</option>
            <option value="time">a time</option>
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
