// How pages are ranked in the search: a page whose title or heading has the words is before the reference of names.
var Scorer = {
  score: ([docname, title, anchor, descr, score, filename]) => {
    const folder = docname.split("/")[0];
    const more = { guides: 6, start: 6, "own-text": 9, encodings: 4, reference: -12, measured: -4, reliability: -4 };
    return score + (more[folder] || 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
