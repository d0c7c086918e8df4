// What this browser keeps of the page. A browser may refuse to store anything; then the page keeps it as long as it is open.

const PREFIX = 'jackfield-';
const here = new Map();

export function kept(name) {
  try {
    return here.get(name) ?? localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

// Keeps a text, or nothing any more. Whether the browser did it.
export function keep(name, text) {
  try {
    if (text) localStorage.setItem(PREFIX + name, text);
    else localStorage.removeItem(PREFIX + name);
    here.delete(name);
    return true;
  } catch {
    here.set(name, text);
    return false;
  }
}
