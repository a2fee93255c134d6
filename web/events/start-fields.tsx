import type { JSX } from 'preact'
import { SelectField } from '../components/select-field.tsx'
import { TextField } from '../components/text-field.tsx'
import type { StartDraft } from './start.ts'

export interface StartFieldsProps {
  readonly value: StartDraft
  readonly onInput: (value: StartDraft) => void
  /** Label of the `new` option. */
  readonly newest: string
}

/** Inputs for a start position in a topic. */
export function StartFields({ value, onInput, newest }: StartFieldsProps): JSX.Element {
  const { from, sequence, time } = value
  return (
    <>
      <SelectField
        label="From"
        value={from}
        choices={{ new: newest, oldest: 'Oldest', sequence: 'Sequence', time: 'Time' }}
        onInput={(from) => onInput({ ...value, from })}
      />
      {from === 'sequence' && (
        <TextField
          label="Sequence"
          inputMode="numeric"
          value={sequence}
          onInput={(sequence) => onInput({ ...value, sequence })}
        />
      )}
      {from === 'time' && (
        <TextField
          label="Time"
          type="datetime-local"
          step={1}
          value={time}
          onInput={(time) => onInput({ ...value, time })}
        />
      )}
    </>
  )
}
