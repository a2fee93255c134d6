import type { JSX } from 'preact'
import type { FieldControl } from '../components/field.tsx'
import { MESSAGE_FILE_BYTES, rejectFile } from '../components/files/file-limit.ts'
import { formatBytes } from '../components/time/format.ts'
import { showToast } from '../components/toast.tsx'
import type { Change, Draft } from '../form/draft.ts'
import { ABSENT, withText } from '../form/draft.ts'
import type { Field } from '../form/field.ts'

export interface LeafProps {
  readonly field: Field
  readonly draft: Draft
  readonly label: string
  readonly control: FieldControl
  readonly onChange: (change: Change) => void
}

/** Input for a scalar field. */
export function Leaf(props: LeafProps): JSX.Element {
  const { field, draft, control, onChange } = props
  const { kind, isSecret, isRequired } = field
  const common = { ...control, 'aria-required': isRequired && field.default === undefined }
  const placeholder = field.default === undefined ? '' : `default: ${show(field.default)}`
  const update = (text: string): void =>
    // Only strings can be empty; other fields become absent.
    onChange((draft) => (text === '' && kind !== 'text' ? ABSENT : withText(draft, text)))
  if (kind === 'bytes') return <BytesField {...props} />
  if (kind === 'choice' || kind === 'boolean') return <ChoiceField {...props} />
  if (kind === 'text' && isSecret)
    return (
      <input
        {...common}
        type="password"
        autocomplete="new-password"
        value={draft.text}
        onInput={({ currentTarget }) => update(currentTarget.value)}
      />
    )
  if (kind === 'text' || kind === 'json')
    return (
      <textarea
        {...common}
        class={kind === 'json' ? 'mono' : undefined}
        rows={kind === 'json' ? 3 : 1}
        spellcheck={false}
        placeholder={placeholder === '' && kind === 'json' ? 'JSON' : placeholder}
        value={draft.text}
        onInput={({ currentTarget }) => update(currentTarget.value)}
      />
    )
  return (
    <input
      {...common}
      type="text"
      inputMode={kind === 'integer' ? 'numeric' : 'decimal'}
      autocomplete="off"
      placeholder={placeholder}
      value={draft.text}
      onInput={({ currentTarget }) => update(currentTarget.value)}
    />
  )
}

function ChoiceField({ field, draft, control, onChange }: LeafProps): JSX.Element {
  const { kind, choices, isRequired } = field
  const options: readonly (readonly [value: string, label: string])[] =
    kind === 'boolean'
      ? [
          ['true', 'true'],
          ['false', 'false'],
        ]
      : choices.map((choice, i) => [String(i), typeof choice === 'string' ? choice : show(choice)])
  const placeholder =
    field.default !== undefined
      ? `default: ${show(field.default)}`
      : isRequired
        ? 'select'
        : 'omitted'
  return (
    <select
      {...control}
      value={draft.presence === 'set' ? draft.text : ''}
      onChange={({ currentTarget: { value } }) =>
        onChange((draft) => (value === '' ? ABSENT : withText(draft, value)))
      }
    >
      <option value="">– {placeholder} –</option>
      {options.map(([value, label]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  )
}

/** Input for bytes, as a file or Base64. */
function BytesField({ draft, label, control, onChange }: LeafProps): JSX.Element {
  const { file, text } = draft
  if (file !== undefined)
    return (
      <p class="form-file" id={control.id}>
        <span>
          {file}, {formatBytes(Math.floor((text.length * 3) / 4))}
        </span>
        <button type="button" class="quiet" onClick={() => onChange(() => ABSENT)}>
          Remove file
        </button>
      </p>
    )
  return (
    <div class="form-bytes">
      <input
        {...control}
        type="file"
        onChange={({ currentTarget: { files } }) => {
          if (files?.[0] !== undefined) readFile(files[0], onChange)
        }}
      />
      <input
        type="text"
        class="mono"
        aria-label={`${label} as base64`}
        aria-invalid={control['aria-invalid']}
        autocomplete="off"
        placeholder="or base64"
        value={text}
        onInput={({ currentTarget: { value } }) =>
          onChange((draft) => (value === '' ? ABSENT : withText(draft, value)))
        }
      />
    </div>
  )
}

function readFile(file: File, onChange: LeafProps['onChange']): void {
  const rejection = rejectFile(file, MESSAGE_FILE_BYTES)
  if (rejection !== undefined) return showToast(rejection, 'bad')
  const reader = new FileReader()
  reader.onload = () => {
    // `data:<type>;base64,<text>`
    const url = String(reader.result)
    onChange(() => ({ ...withText(ABSENT, url.slice(url.indexOf(',') + 1)), file: file.name }))
  }
  reader.onerror = () => showToast(`${file.name} cannot be read`, 'bad')
  reader.readAsDataURL(file)
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}
